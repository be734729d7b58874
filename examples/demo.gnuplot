# The picture of demo.c: the whole record above, the forecast below. Reads out/co2_{before,after,model}.csv.
set datafile separator ','
set encoding utf8
set border 3 lc rgb '#707070'
set tics nomirror out scale 0.6 textcolor rgb '#333333'
set grid lc rgb '#e6e6e6' lt 1 lw 0.6
set style fill solid 1 noborder
set lmargin 11
set rmargin 4

before = 'out/co2_before.csv'
after = 'out/co2_after.csv'
model = 'out/co2_model.csv'
band = '#b9d6f2'
line = '#1f5f99'
known = '#4d4d4d'
later = '#d1491b'

do for [kind in 'svg png'] {
    if (kind eq 'svg') { set terminal svg size 960,800 font 'Helvetica,14' background rgb 'white' }
    if (kind eq 'png') { set terminal pngcairo size 1920,1600 font 'Sans,22' linewidth 2 }
    dot = kind eq 'svg' ? 0.18 : 0.35
    big = kind eq 'svg' ? 0.32 : 0.65
    key_size = 2 * big
    set output 'out/co2.'.kind
    set multiplot

    set origin 0, 0.52
    set size 1, 0.47
    set title 'Atmospheric CO_2 at Mauna Loa: weekly record and Gaussian-process forecast' offset 0,-0.4
    set ylabel 'CO_2 (ppm)'
    unset xlabel
    set xrange [1958:2002]
    set yrange [308:378]
    set xtics 1960, 5
    set ytics 310, 10
    set object 1 rectangle from 1997, graph 0 to 2002, graph 1 \
        fillcolor rgb '#f7f2e9' fillstyle solid 1 noborder behind
    set label 1 'forecast' at 1999.5, graph 0.06 center textcolor rgb '#8a7650'
    set key top left Left reverse samplen 1.8 spacing 1.15
    plot model using 1:($1 >= 1997 ? $2-1.96*$3 : 1/0):($2+1.96*$3) with filledcurves lc rgb band notitle, \
         before using 1:2 with points pt 7 ps dot lc rgb known notitle, \
         after using 1:2 with points pt 7 ps dot lc rgb later notitle, \
         model using 1:($1 >= 1997 ? $2 : 1/0) with lines lw 1.2 lc rgb line notitle, \
         keyentry with points pt 7 ps key_size lc rgb known title 'weeks learned from, 1958-1996', \
         keyentry with points pt 7 ps key_size lc rgb later title 'weeks held back, 1997-2001'

    set origin 0, 0.01
    set size 1, 0.51
    set title 'The forecast, closer'
    set xlabel 'year'
    set xrange [1995:2002]
    set yrange [356:377]
    set xtics 1995, 1
    set ytics 356, 4
    set label 1 at 1999.5, graph 0.05
    set key top left
    plot model using 1:($2-1.96*$3):($2+1.96*$3) \
            with filledcurves lc rgb band title '95 % interval of a week', \
         model using 1:2 with lines lw 1.6 lc rgb line title 'mean', \
         before using 1:2 with points pt 7 ps big lc rgb known notitle, \
         after using 1:2 with points pt 7 ps big lc rgb later notitle, \
         keyentry with points pt 7 ps key_size lc rgb known title 'week learned from', \
         keyentry with points pt 7 ps key_size lc rgb later title 'week held back'

    unset multiplot
    unset object 1
    unset label 1
}
unset output
